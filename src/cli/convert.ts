// spillway convert: a model from one file format into another.

import { UsageError } from '../errors.ts'
import { writeAtomically } from '../files/atomic-file.ts'
import { writeStandard } from '../files/standard-output.ts'
import { allModelFormats, modelFormat } from '../model/all-model-formats.ts'
import { loadModelFile } from '../model/files.ts'
import { checkOutputs } from './check-files.ts'
import { type Command, textOption } from './command.ts'
import { print } from './print.ts'

const names = allModelFormats.map(format => format.name)
const readable = allModelFormats.filter(format => format.read).map(format => format.name)

export const convertCommand: Command = {
  name: 'convert',
  takes: 'MODEL OUT',
  count: [2, 2],
  options: {
    to: { value: 'FORMAT', choices: names, help: 'the format to write' },
    force: {
      help: 'write also a model whose rows were scaled or expanded, which the other program then has to do itself',
    },
  },
  examples: [
    {
      line: 'spillway convert reviews.model reviews.liblinear --to liblinear',
      does: 'liblinear-predict runs the model and gives the same labels',
    },
    {
      line: 'spillway convert heart_scale.model heart.model --to spillway',
      does: "LIBLINEAR's model becomes one that every spillway command takes",
    },
    {
      line: 'spillway convert reviews.model reviews.onnx --to onnx',
      does: 'onnxruntime scores dense rows with it: labels, scores and probabilities',
    },
    { line: 'spillway convert reviews.model - --to json', does: 'the model as JSON on standard output' },
  ],
  notes: [
    'Formats:',
    ...allModelFormats.map(format => `  ${format.name}  ${format.summary}`),
    `MODEL is read in the formats ${readable.join(' and ')}, told apart by their first bytes. OUT "-" is standard output.`,
  ].join('\n'),

  async run({ arguments: [from, to], options, signal }) {
    const name = textOption(options, 'to')
    if (!name) throw new UsageError(`spillway convert needs --to; expected one of ${names.join(', ')}`)
    const target = modelFormat(name)
    await checkOutputs({ reads: [from], prints: [to] })
    const { model, format } = await loadModelFile(from)
    const chunks = target.write(model, { force: options['force'] === true })
    if (to !== '-') await writeAtomically(to, chunks)
    else {
      for (const chunk of chunks) {
        signal.throwIfAborted()
        await writeStandard('stdout', chunk)
      }
    }
    for (const warning of target.warnings?.(model) ?? []) process.stderr.write(`note: ${warning}\n`)
    if (to !== '-') await print(`${from} (${format.name}) → ${to} (${target.name})`)
    return 0
  },
}
