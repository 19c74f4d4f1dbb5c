// Memory of the process against what it was allowed, and what the memory was planned for.
import * as Plot from '@observablehq/plot'
import { type RunRecords, stageOf } from '../records.ts'
import { BLUE, type Chart, framed, ORANGE, tableOf, thinned, ticksFor, timeAxis } from './chart.ts'
import { bytesText, byteTicks } from './units.ts'

/** Bytes that the run was allowed; undefined when nobody said. */
export function allowedMemory(run: RunRecords): number | undefined {
  const said = run.run.settings['memory']
  return typeof said === 'number' ? said : undefined
}

export function memoryChart(run: RunRecords): Chart | undefined {
  const all = stageOf(run, 'train').filter(({ memoryBytes }) => memoryBytes > 0)
  if (all.length < 2) return undefined
  const points = thinned(all, 1500)
  const allowed = allowedMemory(run)
  const most = Math.max(...all.map(({ memoryBytes }) => memoryBytes))
  const top = Math.max(most, allowed ?? 0)
  return {
    id: 'memory',
    title: 'Memory',
    about: aboutMemory(most, allowed),
    text: `Resident memory: ${bytesText(most)} at most${allowed === undefined ? '' : `, of ${bytesText(allowed)} allowed`}.`,
    legend: [
      { name: 'resident memory', colour: BLUE },
      ...(allowed === undefined ? [] : [{ name: 'allowed', colour: ORANGE, dashed: true as const }]),
    ],
    options: size =>
      framed(size, {
        height: 220,
        x: timeAxis(size, points),
        y: {
          label: 'memory',
          labelArrow: 'none',
          domain: [0, top * 1.08],
          ticks: byteTicks(top * 1.08, 4),
          tickFormat: bytesText,
          grid: true,
        },
        marks: [
          Plot.areaY(points, { x: 'seconds', y: 'memoryBytes', fill: BLUE, fillOpacity: 0.2 }),
          Plot.lineY(points, { x: 'seconds', y: 'memoryBytes', stroke: BLUE, strokeWidth: 2 }),
          ...(allowed === undefined
            ? []
            : [Plot.ruleY([allowed], { stroke: ORANGE, strokeWidth: 2, strokeDasharray: '6,3' })]),
          Plot.ruleY([0]),
        ],
      }),
    table: tableOf(points, {
      'time (s)': ({ seconds }) => Number(seconds.toPrecision(4)),
      memory: ({ memoryBytes }) => bytesText(memoryBytes),
    }),
  }
}

/** What the plan of a run over blocks gives to each part. */
export function memoryPlanChart(run: RunRecords): Chart | undefined {
  const plan = stageOf(run, 'plan').findLast(({ memory }) => memory !== undefined)?.memory
  if (!plan || plan.parts.length === 0) return undefined
  const parts = plan.parts.filter(({ bytes }) => bytes > 0)
  const planned = parts.reduce((sum, { bytes }) => sum + bytes, 0)
  const largest = Math.max(...parts.map(({ bytes }) => bytes))
  return {
    id: 'memory-plan',
    title: 'What the memory is planned for',
    about: 'The parts of the plan that was made before training began.',
    text: `${bytesText(planned)} of ${bytesText(plan.allowed)} planned: ${parts.map(({ what, bytes }) => `${what} ${bytesText(bytes)}`).join(', ')}.`,
    options: size =>
      framed(size, {
        height: 64 + 40 * parts.length,
        marginLeft: 12,
        x: {
          label: 'memory',
          labelArrow: 'none',
          domain: [0, largest],
          ticks: byteTicks(largest, Math.max(2, ticksFor(size.width) - 2)),
          tickFormat: bytesText,
          grid: true,
        },
        y: { axis: null, domain: parts.map(({ what }) => what) },
        marks: [
          Plot.barX(parts, { x: 'bytes', y: 'what', fill: BLUE, insetTop: 18, insetBottom: 4 }),
          Plot.text(parts, {
            ...{
              x: 0,
              y: 'what',
              text: ({ what, bytes }: { what: string; bytes: number }) => `${what}: ${bytesText(bytes)}`,
            },
            ...{ textAnchor: 'start', dy: -10, dx: 2 },
          }),
          Plot.ruleX([0]),
        ],
      }),
    table: tableOf(parts, { part: ({ what }) => what, memory: ({ bytes }) => bytesText(bytes) }),
  }
}

function aboutMemory(most: number, allowed: number | undefined): string {
  const what = 'Resident memory of the process while it trained.'
  if (allowed === undefined) return `${what} Nobody set a limit: --memory SIZE does.`
  if (most <= allowed) return `${what} It stayed below the dashed line, which is what --memory allowed.`
  return `${what} It went above the dashed line, which is what --memory allowed. Pages of the program's own files count here; under a hard limit the system takes them back.`
}
