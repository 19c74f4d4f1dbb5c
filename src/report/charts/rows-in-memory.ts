// Rows that stay in memory and rows that have left, of methods that keep some; and what was read of the store or left unread.
import * as Plot from '@observablehq/plot'
import { type RunRecords, stageOf } from '../records.ts'
import { BLUE, type Chart, framed, GREEN, GREY, ORANGE, tableOf, thinned, timeAxis } from './chart.ts'
import { bytesText, byteTicks, countText, secondsText, shortCount } from './units.ts'

export function rowsInMemoryChart(run: RunRecords): Chart | undefined {
  const points = thinned(
    stageOf(run, 'train').flatMap(({ seconds, rows }) => (rows ? [{ seconds, ...rows }] : [])),
    800,
  )
  if (points.length < 2) return undefined
  const end = points[points.length - 1]
  const evicts = points.some(({ evicted = 0 }) => evicted > 0)
  return {
    id: 'rows',
    title: 'Rows in memory',
    about:
      'Rows that matter for the model stay; rows that it is sure of leave, and make room for others. When hardly any row leaves, what matters fits.',
    text: `At the end ${countText(end.kept)} of ${countText(end.kept + end.left)} rows are in memory${evicts ? `; rows left ${countText(end.evicted ?? 0)} times` : ''}.`,
    legend: [
      { name: 'in memory', colour: BLUE },
      { name: 'on disk only', colour: GREY },
      ...(evicts ? [{ name: 'rows that left, so far', colour: ORANGE, dashed: true as const }] : []),
    ],
    options: size =>
      framed(size, {
        x: timeAxis(size, points),
        y: { label: 'rows', labelArrow: 'none', grid: true, ticks: 5, tickFormat: shortCount },
        marks: [
          Plot.areaY(points, { x: 'seconds', y: 'kept', fill: BLUE, fillOpacity: 0.75 }),
          Plot.areaY(points, {
            ...{ x: 'seconds', y1: 'kept', fill: GREY, fillOpacity: 0.3 },
            y2: ({ kept, left }: { kept: number; left: number }) => kept + left,
          }),
          ...(evicts
            ? [
                Plot.lineY(points, {
                  x: 'seconds',
                  y: 'evicted',
                  stroke: ORANGE,
                  strokeWidth: 2,
                  strokeDasharray: '5,3',
                }),
              ]
            : []),
          Plot.ruleY([0]),
        ],
      }),
    table: tableOf(points, {
      'time (s)': ({ seconds }) => Number(seconds.toPrecision(4)),
      'in memory': ({ kept }) => kept,
      'on disk only': ({ left }) => left,
      ...(evicts && { left: ({ evicted = 0 }) => evicted }),
    }),
  }
}

/** Bytes read of the store, and bytes that need not be read. */
export function bytesReadChart(run: RunRecords): Chart | undefined {
  const points = thinned(
    stageOf(run, 'train').flatMap(({ seconds, blocks }) => (blocks ? [{ seconds, ...blocks }] : [])),
    800,
  )
  if (points.length < 2) return undefined
  const end = points[points.length - 1]
  const skips = end.bytesSkipped > 0
  const top = Math.max(end.bytesRead, end.bytesSkipped)
  return {
    id: 'bytes-read',
    title: 'Read from disk',
    about: skips
      ? 'Bytes of blocks that were read so far, and bytes of blocks that were left out because their rows cannot change anything.'
      : 'Bytes of blocks that were read so far. Every pass reads all of them.',
    text: `In ${secondsText(end.seconds)}, ${bytesText(end.bytesRead)} of blocks were read${skips ? ` and ${bytesText(end.bytesSkipped)} left out` : ''}.`,
    legend: [
      { name: 'read', colour: BLUE },
      ...(skips ? [{ name: 'left out', colour: GREEN, dashed: true as const }] : []),
    ],
    options: size =>
      framed(size, {
        height: 220,
        x: timeAxis(size, points),
        y: { label: 'bytes', labelArrow: 'none', grid: true, ticks: byteTicks(top, 4), tickFormat: bytesText },
        marks: [
          Plot.lineY(points, { x: 'seconds', y: 'bytesRead', stroke: BLUE, strokeWidth: 2 }),
          ...(skips
            ? [
                Plot.lineY(points, {
                  x: 'seconds',
                  y: 'bytesSkipped',
                  stroke: GREEN,
                  strokeWidth: 2,
                  strokeDasharray: '5,3',
                }),
              ]
            : []),
          Plot.ruleY([0]),
        ],
      }),
    table: tableOf(points, {
      'time (s)': ({ seconds }) => Number(seconds.toPrecision(4)),
      blocks: ({ read }) => read,
      read: ({ bytesRead }) => bytesText(bytesRead),
      'left out': ({ bytesSkipped }) => bytesText(bytesSkipped),
    }),
  }
}
