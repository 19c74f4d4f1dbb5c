// Inputs in chunks, each in a slot of the shared memory, the way their format says: cut by lines, or as the format plans them.
import { UsageError } from '../errors.ts'
import type { Arena } from '../numeric/arena.ts'
import type { ByteCount } from '../sizes.ts'
import { PlacedSchema } from '../tables/place-schema.ts'
import type { Schema } from '../tables/schema.ts'
import type { ByteSource } from './byte-source.ts'
import { ChunkSlots, type Slot } from './chunk-slots.ts'
import { tableWithoutSchema } from './csv.ts'
import { lookAtBeginning } from './data-beginning.ts'
import { type AboutDecoded, aboutColumns } from './decoded-table.ts'
import { filePart } from './file-part.ts'
import { Input, noRandomAccess } from './input.ts'
import type {
  AboutEncoded,
  ByLines,
  ChunkBytes,
  InputFormat,
  OpenedInput,
  PlannedChunk,
  TableOfInput,
} from './input-format.ts'
import { cutLines, linesWithin } from './line-chunks.ts'
import { namedLabels } from './named-labels.ts'
import { isText, type Reading } from './reading.ts'

/** Labels that were named would be ignored by a format that has them in its rows. What is not known yet is text. */
function refuseNamedLabels(path: string, format: InputFormat | undefined): void {
  if (namedLabels(path) === undefined || format?.takesLabels) return
  throw new UsageError(
    `labels names a file, and the data is ${format?.title ?? 'text'}, whose rows have their labels`,
    'leave it out',
  )
}

/** What a worker takes at a time. */
export interface Chunk extends ChunkBytes {
  /** 0, 1, 2, … over all inputs. */
  number: number
  /** Which input, and its name. */
  source: number
  name: string
  /** What the chunk itself is called, if the format says so; see PlannedChunk. */
  part: string | undefined
  /** Where workers find its format, and the number of its first feature. */
  format: { module: string; name: string }
  indexBase: number
  /** Gives the slot back. */
  release(): void
}

/** How the rows of tables are read. */
export interface TableReading {
  /** `scan` when it is yet to be learnt. */
  schema: Schema | 'scan' | undefined
  /** See TableOfInput. */
  needsLabel?: boolean | undefined
  header?: string | undefined
}

/** A chunk as it comes from one input. */
interface InSlot {
  slot: Slot
  /** Where it begins in the slot. */
  offset?: number
  bytes: number
  first: boolean
  part?: string | undefined
  about?: unknown
}

export class Chunks {
  /** Bytes taken from disk so far, and in all where that is known. */
  bytesRead = 0
  bytesTotal: number | undefined = 0
  /** Milliseconds spent waiting for the disk, the decompressor, or the pipe. */
  readMilliseconds = 0
  /** The most bytes of a line, where the memory that there is does not decide. */
  longestLine: ByteCount | undefined
  readonly #arena: Arena
  readonly #reading: Reading
  readonly #chunkBytes: number
  readonly #slots: ChunkSlots
  readonly #mostSlots: number
  readonly #table: TableReading
  #placed: PlacedSchema | undefined
  /** Chunks that were handed out. */
  #number = 0
  /** What of the inputs samples have had. */
  readonly #sampled = new Set<string>()

  /** `slots` chunks may be out at a time; then reading waits for a release. */
  constructor(
    arena: Arena,
    reading: Reading,
    chunkBytes: number,
    slots: number,
    table: TableReading = { schema: undefined },
  ) {
    this.#arena = arena
    this.#reading = reading
    this.#table = table
    this.#chunkBytes = chunkBytes
    this.#slots = new ChunkSlots(arena)
    this.#mostSlots = slots
  }

  async *read(paths: string[]): AsyncGenerator<Chunk> {
    const inputs = paths.map(path => new Input(path))
    const opened: OpenedInput[] = []
    try {
      // All are opened first, so that a wrong name is told before any work.
      await this.#findFormat(inputs)
      const { format } = this.#reading
      for (const { path } of inputs) refuseNamedLabels(path, this.#reading.known)
      if (format.cut.by === 'plan') for (const input of inputs) opened.push(await this.#open(format, input))
      this.#prepareSlots(opened)
      this.bytesTotal = inputs.reduce<number | undefined>(
        (sum, { size }) => (sum === undefined || size === undefined ? undefined : sum + size),
        0,
      )
      for (const [source, input] of inputs.entries()) {
        const chunks = opened.length > 0 ? this.#planned(opened[source], input) : this.#lines(input, inputs[0])
        for await (const chunk of chunks) yield this.#chunk(input.name, source, chunk)
      }
    } finally {
      for (const input of opened) await input.close?.()
      for (const input of inputs) await input.close()
    }
  }

  /** Whole rows of a file from about a byte on; from its beginning, where nothing else can be read. Undefined when there are
   *  none, or none that an earlier sample has not had. */
  async sample(path: string, place: number): Promise<Chunk | undefined> {
    const input = new Input(path)
    let opened: OpenedInput | undefined
    try {
      await this.#findFormat([input])
      const { format } = this.#reading
      if (format.cut.by === 'plan') opened = await this.#open(format, input)
      this.#prepareSlots(opened ? [opened] : [])
      const chunk = opened ? await this.#samplePlan(opened, input, place) : await this.#sampleLines(input, place)
      return chunk && this.#chunk(input.name, 0, chunk)
    } finally {
      await opened?.close?.()
      await input.close()
    }
  }

  /** Opens all inputs, unless their format was asked for and opens them itself. A file may begin like one of a format. */
  async #findFormat(inputs: Input[]): Promise<void> {
    if (this.#reading.known?.cut.by === 'plan') return
    const part = inputs[0] && filePart(inputs[0].path)
    if (part) await lookAtBeginning(this.#reading, part)
    const sources: ByteSource[] = []
    for (const input of inputs) sources.push(await input.source())
    const [first, ...others] = sources
    if (!first?.head) return
    this.#reading.lookAtHead(first.name, first.head)
    if (isText(first.head))
      for (const { name, head } of others) if (head) this.#reading.lookAtFurther(name, head, first)
  }

  #open({ cut, title }: InputFormat, input: Input): Promise<OpenedInput> {
    const { path, name } = input
    if (cut.by !== 'plan') throw new Error(`${title} is not opened`)
    return cut.open({ path, name, file: () => input.randomAccess(title) }, this.#chunkBytes)
  }

  /** Makes slots for the largest chunk that is planned, and no more than there are chunks. A slot that grew later would leave the
   *  room that it had unused, and the memory plan would not know of it. */
  #prepareSlots(opened: OpenedInput[]): void {
    const planned = opened.map(({ chunks }) => chunks)
    if (planned.length === 0 || !planned.every(chunks => Array.isArray(chunks))) {
      this.#slots.prepare(this.#mostSlots, this.#chunkBytes)
      return
    }
    const sizes = planned.flat().map(({ bytes }) => bytes)
    const largest = sizes.reduce((most, bytes) => Math.max(most, bytes), this.#chunkBytes)
    this.#slots.prepare(Math.min(this.#mostSlots, Math.max(1, sizes.length)), largest)
  }

  #chunk(name: string, source: number, { slot, offset = 0, ...chunk }: InSlot): Chunk {
    let held = true
    const release = (): void => {
      if (held) this.#slots.give(slot)
      held = false
    }
    const { format, indexBase } = this.#reading
    return {
      ...{ part: undefined, ...chunk, number: this.#number++, source, name, at: slot.at + offset, indexBase, release },
      format: { module: format.module, name: format.name },
    }
  }

  /** Waits for bytes of an input, and counts both. */
  async #take<T>(input: Input, read: () => Promise<T>): Promise<T> {
    const start = performance.now()
    const result = await read()
    this.readMilliseconds += performance.now() - start
    this.bytesRead += input.newBytes()
    return result
  }

  async *#planned({ chunks, columns }: OpenedInput, input: Input): AsyncGenerator<InSlot> {
    let first = true
    for await (const planned of chunks) {
      yield this.#fill(planned, input, first, columns)
      first = false
    }
  }

  async #fill(planned: PlannedChunk, input: Input, first: boolean, columns?: string[]): Promise<InSlot> {
    const { name, bytes } = planned
    const about = columns ? this.#aboutDecoded(planned.about as AboutEncoded, columns, input.name) : planned.about
    const slot = await this.#slots.take()
    // Of chunks whose sizes are not known before: a slot grows a few times, not with each.
    if (bytes > slot.capacity) this.#slots.enlarge(slot, Math.max(bytes, Math.ceil(slot.capacity * 1.5)), 0)
    await this.#take(input, () => planned.fill(this.#arena.bytes(slot.at, bytes)))
    return { slot, bytes, first, part: name, about }
  }

  async *#lines(input: Input, firstInput: Input): AsyncGenerator<InSlot> {
    const source = await input.source()
    // Known by the first chunk, once it has whole rows.
    let known: { about: unknown } | undefined
    const aboutFile = (cut: ByLines, text: Uint8Array): unknown => {
      known ??= { about: this.#about(cut, text, input.name) }
      return known.about
    }
    const lines = cutLines(this.#slots, {
      name: input.name,
      chunkBytes: this.#chunkBytes,
      longest: this.longestLine,
      read: target => this.#take(input, () => source.read(target)),
      begins: head => {
        if (input !== firstInput) this.#reading.lookAtFurther(source.name, head, firstInput)
        // The head of a plain file has been looked at.
        if (source.readAt) return
        this.#reading.lookAtHead(source.name, head)
        const { format } = this.#reading
        if (format.cut.by === 'plan') throw noRandomAccess(source, format.title)
      },
      endOfRows: (whole, text) => {
        const cut = this.#reading.look(whole)
        return cut.endOfRows ? cut.endOfRows(text, known?.about) : whole.length
      },
    })
    let first = true
    for await (const { slot, bytes } of lines) {
      const text = this.#arena.bytes(slot.at, bytes)
      yield { slot, bytes, first, about: aboutFile(this.#reading.look(text), text) }
      first = false
    }
  }

  /** What every chunk of a file has to know, by the beginning of the file. */
  #about({ about, delimiters }: ByLines, text: Uint8Array, name: string): unknown {
    return about?.(text, this.#tableOf(name, delimiters !== undefined))
  }

  /** What workers are told of a chunk that they decode. */
  #aboutDecoded(decode: AboutEncoded, columns: string[], name: string): AboutDecoded {
    return { ...aboutColumns(columns, this.#tableOf(name, true)), decode }
  }

  #tableOf(name: string, isTable: boolean): TableOfInput {
    const { schema, needsLabel = true, header } = this.#table
    if (isTable && !schema) throw tableWithoutSchema(name)
    if (schema && schema !== 'scan') this.#placed ??= new PlacedSchema(this.#arena, schema)
    return { name, placed: this.#placed, needsLabel, header }
  }

  async #samplePlan({ chunks, columns }: OpenedInput, input: Input, place: number): Promise<InSlot | undefined> {
    if (!Array.isArray(chunks) || chunks.length === 0) return undefined
    const k = Math.min(chunks.length - 1, Math.floor((place / Math.max(1, input.size ?? 1)) * chunks.length))
    return this.#isNew(`${input.path} ${k}`) ? this.#fill(chunks[k], input, k === 0, columns) : undefined
  }

  async #sampleLines(input: Input, place: number): Promise<InSlot | undefined> {
    const source = await input.source()
    // Rows that are no lines, and those that a header explains, are only known from the beginning on.
    const { about, endOfRows } = this.#reading.lines
    const within = place > 0 && source.readAt && !about && !endOfRows
    if (!within && !this.#isNew(input.path)) return undefined
    const slot = await this.#slots.take()
    const text = this.#arena.bytes(slot.at, this.#chunkBytes)
    const filled = within ? await source.readAt!(text, place) : await source.read(text)
    const { first, bytes } = linesWithin(text.subarray(0, filled), !within)
    const lines = text.subarray(first, first + bytes)
    const cut = this.#reading.look(lines)
    if (bytes > 0) return { slot, offset: first, bytes, first: !within, about: this.#about(cut, lines, input.name) }
    this.#slots.give(slot)
    return undefined
  }

  #isNew(what: string): boolean {
    const isNew = !this.#sampled.has(what)
    this.#sampled.add(what)
    return isNew
  }
}
