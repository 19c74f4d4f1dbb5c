// What each rank takes of the data: an even part of the bytes of all files together, or whole things that are dealt out.

/** Which of how many. */
export interface Share {
  rank: number
  size: number
}

/** A stretch of the bytes of a file. */
export interface FileStretch {
  /** Which file, from 0 on. */
  file: number
  from: number
  to: number
}

/** The stretches of a rank, of files of these sizes one behind the other: those of all ranks, in the order of ranks, are all
 *  bytes. A file without bytes is in no stretch. */
export function stretchesOf(sizes: readonly number[], { rank, size }: Share): FileStretch[] {
  const all = sizes.reduce((sum, bytes) => sum + bytes, 0)
  const [from, to] = [cutBefore(all, rank, size), cutBefore(all, rank + 1, size)]
  const stretches: FileStretch[] = []
  let before = 0
  for (const [file, bytes] of sizes.entries()) {
    const stretch = { file, from: Math.max(from - before, 0), to: Math.min(to - before, bytes) }
    if (stretch.from < stretch.to) stretches.push(stretch)
    before += bytes
  }
  return stretches
}

/** Where the share of a rank begins. Sizes times ranks may be beyond what numbers hold exactly: whole parts first. */
function cutBefore(all: number, rank: number, size: number): number {
  const part = Math.floor(all / size)
  return part * rank + Math.floor(((all - part * size) * rank) / size)
}

/** The things of a rank, of so many that are dealt out one after the other. */
export function dealt(count: number, { rank, size }: Share): number[] {
  return Array.from({ length: count }, (_, k) => k).filter(k => k % size === rank)
}

/** What a rank's own file or folder is called: `reviews.spill` becomes `reviews.2-of-4.spill`. */
export function nameOfShare(name: string, { rank, size }: Share): string {
  if (size === 1) return name
  const [, stem, ending] = /^(.*?)((?:\.spill)?)$/s.exec(name)!
  return `${stem}.${rank + 1}-of-${size}${ending}`
}

/** Of some names, those of the same folder's shares, whatever number of ranks they are for, and of the folder itself. */
export function sharesOf(own: string, names: readonly string[]): { name: string; size: number }[] {
  const pattern = /^(.*?)(?:\.\d+-of-(\d+))?\.spill$/s
  const stem = pattern.exec(own)?.[1]
  return names.flatMap(name => {
    const found = pattern.exec(name)
    return found && found[1] === stem ? [{ name, size: Number(found[2] ?? 1) }] : []
  })
}

/** What stands for the number of a rank in the name of a file: `part-{rank}.svm`. */
export const RANK_PATTERN = '{rank}'

/** The file of a rank, where a name has the pattern in it. One process alone has files of any name. */
export function fileOfRank(path: string, { rank, size }: Share): string {
  return size === 1 ? path : path.replaceAll(RANK_PATTERN, String(rank))
}
