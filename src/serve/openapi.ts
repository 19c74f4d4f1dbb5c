// The description of the server's requests and answers, in OpenAPI 3.1.
import { type Column, hasFeatures, type Schema } from '../tables/schema.ts'
import { version } from '../version.ts'
import type { ServedModel } from './served-model.ts'

const refused = (description: string): object => ({
  description,
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
})

const REFUSALS = {
  400: refused('a row that cannot be scored; the sentence names it'),
  401: refused('the token is missing or wrong'),
  408: refused('the body did not come in time'),
  413: refused('the body, a line or the number of rows is beyond a limit'),
  415: refused('a type of content that is not known'),
  503: refused('too many requests at a time, or the server is about to stop'),
}

const lines = (description: string, example: string): object => ({ schema: { type: 'string', description }, example })

const tableText = lines('a header, and rows of a table with commas between the cells', 'age,job\n39,clerk\n')

const predictPath = (text: string, isTable: boolean): object => ({
  post: {
    summary: 'Labels, scores and probabilities for rows',
    parameters: ['scores', 'probability'].map(name => ({
      name,
      in: 'query',
      description: `of lines of text: each label is followed by ${name === 'scores' ? 'scores' : 'probabilities'}`,
      allowEmptyValue: true,
      schema: { type: 'string' },
    })),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: {
            oneOf: [
              { $ref: '#/components/schemas/Row' },
              { type: 'object', properties: { rows: { type: 'array' } }, required: ['rows'] },
              { type: 'array', items: { $ref: '#/components/schemas/Row' } },
            ],
          },
        },
        'application/x-ndjson': lines('one row a line; answers come while rows are sent', '{"3": 0.5}\n{"7": 1}\n'),
        ...(isTable
          ? { 'text/csv': tableText, 'text/tab-separated-values': tableText, 'text/plain': tableText }
          : { 'text/plain': lines(`lines of the data that the model was trained on: ${text}`, text) }),
      },
    },
    responses: {
      200: {
        description: 'one answer for each row, in the order of the rows',
        content: {
          'application/json': {
            schema: {
              oneOf: [
                { $ref: '#/components/schemas/Prediction' },
                {
                  type: 'object',
                  properties: { predictions: { type: 'array', items: { $ref: '#/components/schemas/Prediction' } } },
                },
              ],
            },
          },
          'application/x-ndjson': lines('one prediction a line', '{"label":"1","scores":[0.5]}\n'),
          'text/plain': lines('one label a line', '1\n-1\n'),
        },
      },
      ...REFUSALS,
    },
  },
})

const readPath = (summary: string, type: string): object => ({
  get: { summary, responses: { 200: { description: summary, content: { [type]: {} } } } },
})

const byFeature = { type: 'object', additionalProperties: { type: 'number' } }

/** Values that are shown of a column. */
const SHOWN_VALUES = 10

/** What a cell of a column may be. */
function cellSchema(column: Column): object {
  const cell = { type: ['string', 'number', 'boolean', 'null'] }
  if (column.role === 'number') return { type: ['number', 'string', 'null'], description: 'a number' }
  if (column.role === 'category') {
    return { ...cell, description: 'a name', examples: column.values.slice(0, SHOWN_VALUES) }
  }
  if (hasFeatures(column)) return { ...cell, description: column.role === 'words' ? 'a text' : 'a name' }
  return { description: `${column.role === 'label' ? 'the label' : column.role}: it is passed over` }
}

/** A row by the names of its columns. */
function namedRow({ columns }: Schema): object {
  return {
    type: 'object',
    properties: Object.fromEntries(columns.map(column => [column.name, cellSchema(column)])),
    required: columns.filter(hasFeatures).map(({ name }) => name),
    additionalProperties: false,
    description: 'a value for each column; null where it is missing',
  }
}

function schemas({ model, names, hasProbabilities }: ServedModel): object {
  const label = { type: 'string', enum: model.labels.map(({ text }) => text) }
  const row = names.letters
    ? { type: 'string', description: 'letters' }
    : {
        oneOf: [
          model.schema
            ? namedRow(model.schema)
            : { ...byFeature, description: `values by the numbers of features, from ${model.indexBase}` },
          { type: 'object', properties: { features: byFeature }, required: ['features'] },
          {
            type: 'object',
            properties: {
              indices: { type: 'array', items: { type: 'integer' } },
              values: { type: 'array', items: { type: 'number' } },
            },
            required: ['indices', 'values'],
          },
          { type: 'array', items: { type: 'number' }, description: 'the values of all features in order' },
        ],
      }
  const scores = {
    type: 'array',
    items: { type: ['number', 'null'] },
    description: 'one for two classes, above 0 for the first label; else one for each label',
  }
  const probabilities = { ...byFeature, description: 'by label' }
  return {
    Row: row,
    Prediction: {
      type: 'object',
      required: ['label', 'scores'],
      properties: { label, scores, ...(hasProbabilities && { probabilities }) },
    },
    Error: { type: 'object', required: ['error'], properties: { error: { type: 'string' } } },
  }
}

export function openApi(served: ServedModel, secured: boolean): object {
  return {
    openapi: '3.1.0',
    info: { title: 'Spillway: predictions of a model', version },
    paths: {
      '/predict': predictPath(served.textExample, served.model.schema !== undefined),
      '/health': readPath('Whether rows can be scored, and what the model is', 'application/json'),
      '/metrics': readPath('Counts for Prometheus', 'text/plain'),
      '/openapi.json': readPath('This description', 'application/json'),
    },
    components: {
      schemas: schemas(served),
      ...(secured && { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } }),
    },
    ...(secured && { security: [{ token: [] }] }),
  }
}
