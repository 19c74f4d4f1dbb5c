// The place of a chart whose first numbers are still to come: its frame, with the title and the size that it will have.
import * as Plot from '@observablehq/plot'
import { type Chart, FAINT, framed } from './chart.ts'

/** `until`: what has to be solved before there are numbers. */
export function waitingChart(
  { height, ...chart }: Omit<Chart, 'text' | 'options' | 'table'> & { height?: number },
  until: string,
): Chart {
  const text = `Nothing is known before ${until} is solved.`
  return {
    ...chart,
    text,
    options: size =>
      framed(size, {
        ...(height !== undefined && { height }),
        ...{ x: { axis: null }, y: { axis: null } },
        marks: [Plot.frame({ stroke: FAINT }), Plot.text([text], { frameAnchor: 'middle', lineWidth: 20 })],
      }),
    table: { columns: [text], rows: [] },
  }
}
