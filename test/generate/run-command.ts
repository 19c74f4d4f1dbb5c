// Runs `spillway generate` by itself, for tests that look at its outputs.
import { parseArguments } from '../../src/cli/command.ts'
import { generateCommand } from '../../src/cli/generate.ts'

const input = { ...parseArguments(generateCommand, process.argv.slice(2)), signal: new AbortController().signal }
process.exitCode = await generateCommand.run(input)
