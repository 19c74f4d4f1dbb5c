// Counts of what the server does, as Prometheus reads them.

/** Upper ends of the bins that requests are counted in by their seconds. */
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

export class Metrics {
  #rows = 0
  #bytes = 0
  #loads = 0
  #failedLoads = 0
  inFlight = 0
  readonly #requests = new Map<string, number>()
  readonly #bins = new Array<number>(SECONDS.length + 1).fill(0)
  #seconds = 0

  /** A request that was answered; `path` is one of a fixed list. */
  answered(path: string, status: number, seconds: number): void {
    const labels = `path="${path}",status="${status}"`
    this.#requests.set(labels, (this.#requests.get(labels) ?? 0) + 1)
    const bin = SECONDS.findIndex(end => seconds <= end)
    this.#bins[bin < 0 ? SECONDS.length : bin]++
    this.#seconds += seconds
  }

  addRows(rows: number): void {
    this.#rows += rows
  }

  addBytes(bytes: number): void {
    this.#bytes += bytes
  }

  loaded(): void {
    this.#loads++
  }

  failedToLoad(): void {
    this.#failedLoads++
  }

  text(loadedAt: Date): string {
    let count = 0
    const bins = SECONDS.map((end, k) => {
      count += this.#bins[k]
      return `spillway_request_seconds_bucket{le="${end}"} ${count}`
    })
    count += this.#bins[SECONDS.length]
    return [
      ...described('spillway_requests_total', 'counter', 'Requests that were answered.'),
      ...[...this.#requests].map(([labels, requests]) => `spillway_requests_total{${labels}} ${requests}`),
      ...described(
        'spillway_request_seconds',
        'histogram',
        'Time from the head of a request to the end of its answer.',
      ),
      ...bins,
      `spillway_request_seconds_bucket{le="+Inf"} ${count}`,
      `spillway_request_seconds_sum ${this.#seconds}`,
      `spillway_request_seconds_count ${count}`,
      ...one('spillway_requests_in_flight', 'gauge', 'Requests that are being answered.', this.inFlight),
      ...one('spillway_rows_total', 'counter', 'Rows that were scored.', this.#rows),
      ...one('spillway_received_bytes_total', 'counter', 'Bytes of bodies that were received.', this.#bytes),
      ...one('spillway_model_loads_total', 'counter', 'Times that the model was read.', this.#loads),
      ...one('spillway_model_load_failures_total', 'counter', 'Times that it could not be read.', this.#failedLoads),
      ...one('spillway_model_loaded_timestamp_seconds', 'gauge', 'When it was read.', loadedAt.getTime() / 1000),
      ...one('process_resident_memory_bytes', 'gauge', 'Resident memory of the process.', process.memoryUsage.rss()),
      '',
    ].join('\n')
  }
}

const described = (name: string, type: string, help: string): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
]

const one = (name: string, type: string, help: string, value: number): string[] => [
  ...described(name, type, help),
  `${name} ${value}`,
]
