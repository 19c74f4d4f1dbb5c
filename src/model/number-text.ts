// A double as C's printf("%.17g") writes it: 17 significant digits always name one double and no other, and LIBLINEAR's
// files are written so.

const DIGITS = 17

/** C's "%.17g". */
export function formatG17(x: number): string {
  if (x === 0) return Object.is(x, -0) ? '-0' : '0'
  if (Number.isNaN(x)) return 'nan'
  if (!Number.isFinite(x)) return x > 0 ? 'inf' : '-inf'
  const text = isTie(x) ? roundTieToEven(x) : x.toExponential(DIGITS - 1)
  const mark = text.indexOf('e')
  const exponent = Number(text.slice(mark + 1))
  const digits = text.slice(0, mark)
  if (exponent < -4 || exponent >= DIGITS) {
    const size = String(Math.abs(exponent)).padStart(2, '0')
    return `${withoutTrailingZeros(digits)}e${exponent < 0 ? '-' : '+'}${size}`
  }
  const sign = x < 0 ? '-' : ''
  const plain = digits.replace('-', '').replace('.', '')
  if (exponent < 0) return withoutTrailingZeros(`${sign}0.${'0'.repeat(-exponent - 1)}${plain}`)
  return withoutTrailingZeros(`${sign}${plain.slice(0, exponent + 1)}.${plain.slice(exponent + 1)}`)
}

function withoutTrailingZeros(text: string): string {
  let end = text.length
  while (text.charCodeAt(end - 1) === 48) end--
  if (text[end - 1] === '.') end--
  return text.slice(0, end)
}

// Half-way between two 17-digit numbers C rounds to the even digit, JavaScript up. Such a double is m / 2^s with exactly
// 18 significant digits, m·5^s; m has at most 53 bits, so s lies between 2 and 25: most doubles fail this one multiplication.
const TIE_SCALE = 2 ** 25

function isTie(x: number): boolean {
  const scaled = x * TIE_SCALE
  if (scaled !== Math.trunc(scaled) || Number.isInteger(x)) return false
  const exact = x.toExponential(60)
  const mark = exact.indexOf('e')
  const tail = exact.slice(exact.indexOf('.') + DIGITS, mark)
  return tail[0] === '5' && /^50*$/.test(tail)
}

function roundTieToEven(x: number): string {
  const exact = x.toExponential(DIGITS)
  const mark = exact.indexOf('e')
  const lastKept = exact.charCodeAt(mark - 2) - 48
  // Dropping the final 5 rounds down; JavaScript's own rounding goes up.
  return lastKept % 2 === 0 ? exact.slice(0, mark - 1) + exact.slice(mark) : x.toExponential(DIGITS - 1)
}
