// A reader of PMML's elements, and what a RegressionModel says of a row by its rules.
import assert from 'node:assert/strict'

interface Element {
  name: string
  attributes: Record<string, string>
  children: Element[]
  /** Of an element that has no others in it. */
  text: string
}

const ENTITIES: Record<string, string> = { lt: '<', gt: '>', quot: '"', amp: '&', '#9': '\t', '#10': '\n', '#13': '\r' }
const unescaped = (text: string): string => text.replace(/&([^;]+);/g, (_, name) => ENTITIES[name])

/** The elements of XML. Refuses what is not well-formed. */
function parsed(xml: string): Element {
  const root: Element = { name: '', attributes: {}, children: [], text: '' }
  const open = [root]
  const rest = xml
    .replace(/^<\?xml version="1\.0" encoding="UTF-8"\?>/, '')
    .replace(
      /<(\/?)(\w+)((?:\s+\w+="[^"<]*")*)\s*(\/?)>([^<]*)/g,
      (_, closing, name, attributes, empty, text: string) => {
        if (closing) {
          assert.equal(open.pop()!.name, name)
          return text.trim()
        }
        const pairs = [...attributes.matchAll(/(\w+)="([^"]*)"/g)].map(([, key, value]) => [key, unescaped(value)])
        const element = { name, attributes: Object.fromEntries(pairs), children: [], text: text.trim() }
        open[open.length - 1].children.push(element)
        if (empty) return text.trim()
        open.push(element)
        return ''
      },
    )
  assert.equal(rest.trim(), '')
  assert.equal(open.length, 1)
  assert.equal(root.children.length, 1)
  return root.children[0]
}

const all = ({ children }: Element, name: string): Element[] => children.filter(child => child.name === name)

/** A value of a field; undefined where it is missing. */
type Value = number | string | undefined

/** The value of an expression. */
function computed({ name, attributes, children, text }: Element, field: (name: string) => Value): Value | boolean {
  if (name === 'Constant') return Number(text)
  if (name === 'FieldRef') {
    const found = field(attributes['field'])
    return found ?? (attributes['mapMissingTo'] === undefined ? undefined : Number(attributes['mapMissingTo']))
  }
  assert.equal(name, 'Apply')
  const inner = children.map(child => computed(child, field))
  if (attributes['function'] === 'isMissing') return inner[0] === undefined
  assert.equal(attributes['function'], 'if')
  return inner[0] ? inner[1] : inner[2]
}

/** By the rules of a RegressionModel for classification with softmax. */
export function scored(
  xml: string,
  row: Map<string, number | string>,
): { label: string; probabilities: Map<string, number>; target: string } {
  const pmml = parsed(xml)
  assert.deepEqual(pmml.attributes, { xmlns: 'http://www.dmg.org/PMML-4_4', version: '4.4' })
  const [model] = all(pmml, 'RegressionModel')
  assert.deepEqual(model.attributes, { functionName: 'classification', normalizationMethod: 'softmax' })
  const mined = all(all(model, 'MiningSchema')[0], 'MiningField').map(({ attributes }) => attributes)
  const declared = all(all(pmml, 'DataDictionary')[0], 'DataField')
  assert.equal(all(pmml, 'DataDictionary')[0].attributes['numberOfFields'], String(declared.length))
  const names = declared.map(({ attributes }) => attributes['name'])
  assert.equal(new Set(names).size, names.length)
  assert.deepEqual(
    names,
    mined.map(({ name }) => name),
  )
  const made = all(model, 'LocalTransformations').flatMap(each => all(each, 'DerivedField'))
  const field = (name: string): Value => {
    const derived = made.find(({ attributes }) => attributes['name'] === name)
    if (derived) return computed(derived.children[0], field) as Value
    const place = names.indexOf(name)
    assert.ok(place >= 0, name)
    const given = row.get(name)
    const listed = all(declared[place], 'Value').find(({ attributes }) => attributes['value'] === given)
    const isMissing = given === undefined || listed?.attributes['property'] === 'missing'
    if (!isMissing) {
      const isKnown = declared[place].attributes['optype'] === 'continuous' || listed
      assert.ok(isKnown || mined[place]['invalidValueTreatment'] === 'asIs', `${name} has the value ${given}`)
      return given
    }
    const replaced = mined[place]['missingValueReplacement']
    return replaced === undefined ? undefined : Number(replaced)
  }
  const values = all(model, 'RegressionTable').map(table => {
    const order = table.children.map(({ name }) => name)
    assert.deepEqual(order, order.toSorted().toReversed(), 'numeric predictors come first')
    const terms = table.children.map(({ name, attributes }) => {
      const value = field(attributes['name'])
      if (name === 'CategoricalPredictor') return value === attributes['value'] ? Number(attributes['coefficient']) : 0
      assert.equal(typeof value, 'number', `the field ${attributes['name']}`)
      return Number(attributes['coefficient']) * (value as number)
    })
    return {
      label: table.attributes['targetCategory'],
      y: terms.reduce((sum, term) => sum + term, 0) + Number(table.attributes['intercept']),
    }
  })
  const highest = Math.max(...values.map(({ y }) => y))
  const sum = values.reduce((total, { y }) => total + Math.exp(y - highest), 0)
  return {
    label: values.find(({ y }) => y === highest)!.label,
    probabilities: new Map(values.map(({ label, y }) => [label, Math.exp(y - highest) / sum])),
    target: mined.find(attributes => attributes['usageType'] === 'target')!['name'],
  }
}
