// What segments take once they are decoded.

/** What decoding rows takes, were they one segment. */
export function decodedSegment({ rows, nonzeros }: { rows: number; nonzeros: number }): number {
  return nonzeros * 24 + rows * 48
}

/** What a segment of blocks that are split takes, at most. */
export const SPLIT_SEGMENT_BYTES = 1 << 20
