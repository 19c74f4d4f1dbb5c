// Pictures of pages as small files: PNG with a palette of the 256 most frequent colours.
import { crc32, deflateSync, inflateSync } from 'node:zlib'

/** The same picture, smaller. It must have 8 bits a colour, with or without alpha, as browsers write them. */
export function smallPng(png: Buffer): Buffer {
  const { width, height, pixels, size } = pixelsOf(png)
  // Edges of letters have hundreds of shades, of which 32 of each colour do.
  const coarse = (k: number): number => (pixels[k] >> 3) * 1024 + (pixels[k + 1] >> 3) * 32 + (pixels[k + 2] >> 3)
  const counts = new Map<number, { count: number; at: number }>()
  for (let k = 0; k < pixels.length; k += size) {
    const found = counts.get(coarse(k))
    if (found) found.count++
    else counts.set(coarse(k), { count: 1, at: k })
  }
  const kept = [...counts].sort(([, a], [, b]) => b.count - a.count).slice(0, 256)
  const colours = kept.map(([, { at }]) => pixels.subarray(at, at + 3))
  const places = new Map(kept.map(([key], place) => [key, place]))
  const nearest = (k: number): number => {
    const far = colours.map(colour => colour.reduce((sum, value, c) => sum + (value - pixels[k + c]) ** 2, 0))
    return far.indexOf(Math.min(...far))
  }
  const rows = Buffer.alloc((width + 1) * height)
  for (let k = 0; k < pixels.length; k += size) {
    const place = places.get(coarse(k)) ?? nearest(k)
    places.set(coarse(k), place)
    const pixel = k / size
    rows[Math.floor(pixel / width) * (width + 1) + 1 + (pixel % width)] = place
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 3, 0, 0, 0], 8)
  const parts = [
    part('IHDR', head),
    part('PLTE', Buffer.concat(colours)),
    part('IDAT', deflateSync(rows, { level: 9 })),
    part('IEND', Buffer.alloc(0)),
  ]
  return Buffer.concat([Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]), ...parts])
}

interface Pixels {
  width: number
  height: number
  pixels: Uint8Array
  /** Bytes of a pixel. */
  size: number
}

function pixelsOf(png: Buffer): Pixels {
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)]
  const size = png[25] === 6 ? 4 : 3
  const packed: Buffer[] = []
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      packed.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  }
  const rows = inflateSync(Buffer.concat(packed))
  const line = width * size
  const pixels = new Uint8Array(line * height)
  for (let y = 0; y < height; y++) {
    const filter = rows[y * (line + 1)]
    for (let x = 0; x < line; x++) {
      const left = x >= size ? pixels[y * line + x - size] : 0
      const above = y > 0 ? pixels[(y - 1) * line + x] : 0
      const corner = x >= size && y > 0 ? pixels[(y - 1) * line + x - size] : 0
      const guesses = [0, left, above, (left + above) >> 1, paeth(left, above, corner)]
      pixels[y * line + x] = rows[y * (line + 1) + 1 + x] + guesses[filter]
    }
  }
  return { width, height, pixels, size }
}

/** Of three neighbours the one that is nearest to left + above − corner. */
function paeth(left: number, above: number, corner: number): number {
  const [l, a, c] = [above - corner, left - corner, left + above - 2 * corner].map(Math.abs)
  return l <= a && l <= c ? left : a <= c ? above : corner
}

function part(name: string, bytes: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), bytes])
  const ends = [Buffer.alloc(4), Buffer.alloc(4)]
  ends[0].writeUInt32BE(bytes.length)
  ends[1].writeUInt32BE(crc32(body))
  return Buffer.concat([ends[0], body, ends[1]])
}
