// A table with the columns of the census data `adult`, drawn at random.

const WORK = ['Private', 'Private', 'Private', 'Private', 'Self-emp-not-inc', 'Local-gov', '?', 'Self-emp-inc']
const EDUCATION = {
  'HS-grad': 0,
  'Some-college': 0.2,
  Bachelors: 1.2,
  Masters: 1.7,
  '11th': -1,
  '7th-8th': -1.6,
  Doctorate: 2.4,
}
const MARITAL = { 'Married-civ-spouse': 1.8, 'Never-married': -1.2, Divorced: -0.7, Widowed: -0.6 }
const OCCUPATION = {
  'Prof-specialty': 0.5,
  'Craft-repair': 0.1,
  'Exec-managerial': 0.9,
  '?': -0.3,
  'Other-service': -0.9,
}
const COUNTRY = [...Array.from({ length: 20 }, () => 'United-States'), 'Mexico', '?', 'Germany', 'India']

/** The text of so many rows, under a header. */
export function adultLike(rows: number, seed: number): string {
  let state = seed
  const draw = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const normal = (): number => Math.sqrt(-2 * Math.log(draw() + 1e-9)) * Math.cos(2 * Math.PI * draw())
  const of = <T>(list: readonly T[]): T => list[Math.floor(draw() * list.length)]
  const lines = [
    'age,workclass,fnlwgt,education,marital-status,occupation,sex,capital-gain,hours-per-week,country,income',
  ]
  for (let k = 0; k < rows; k++) {
    const age = Math.min(90, Math.max(17, Math.floor(38 + 13 * normal())))
    const hours = Math.min(99, Math.max(1, Math.floor(40 + 12 * normal())))
    const gain = draw() < 0.9 ? 0 : draw() < 0.02 ? 99999 : Math.floor(-3000 * Math.log(draw() + 1e-9))
    const [work, weight, country] = [of(WORK), Math.floor(Math.exp(12 + 0.5 * normal())), of(COUNTRY)]
    const [education, school] = of(Object.entries(EDUCATION))
    const [marital, married] = of(Object.entries(MARITAL))
    const [occupation, job] = of(Object.entries(OCCUPATION))
    const sex = draw() < 0.67 ? 'Male' : 'Female'
    const score = 0.035 * (age - 38) + school + married + job + (sex === 'Male' ? 0.4 : -0.4) + gain / 4000
    const rich = draw() < 1 / (1 + Math.exp(1.2 - score - 0.03 * (hours - 40)))
    const cells = [age, work, weight, education, marital, occupation, sex, gain, draw() < 0.01 ? '' : hours, country]
    lines.push(`${cells.join(',')},${rich ? '>50K' : '<=50K'}`)
  }
  return `${lines.join('\n')}\n`
}
