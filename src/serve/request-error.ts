// What is wrong with a request: the status that it is answered with, and one clear sentence.

export class RequestError extends Error {
  override name = 'RequestError'
  readonly status: number
  readonly headers: Record<string, string>

  constructor(status: number, message: string, headers: Record<string, string> = {}) {
    super(message)
    this.status = status
    this.headers = headers
  }
}

export const errorJson = (message: string): string => `${JSON.stringify({ error: message })}\n`
