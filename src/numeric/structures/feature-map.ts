// The table of feature-map-layout.ts.
import type { LayoutFile } from './structure.ts'

const PAGES = 65536
const WORDS = 1024

export const featureMap: LayoutFile = {
  file: 'feature-map-layout.ts',
  opening: 'Byte layouts of a map from features to weights: its top table, and its pages.',
  parts: [
    {
      structure: 'MapTop',
      prefix: 'TOP_',
      title: 'The top table: a page for each run of 65536 features that has any.',
      fields: [
        ['PAGES', `u32[${PAGES}]`, 'addresses of pages, 0 for none.'],
        ['LEFT', 'u32', 'how many pages may still be taken.'],
      ],
      size: { name: 'MAP_TOP_BYTES', bytes: PAGES * 4 + 64 },
    },
    {
      constants: [['TOP_ENTRIES', PAGES, 'Pages that there can be.']],
    },
    {
      structure: 'Page',
      prefix: 'PAGE_',
      title: 'A page.',
      fields: [
        ['WORDS', `u32[${WORDS * 2}]`, 'a bit for each feature that occurs. Loops read 64 at a time.'],
        ['BEFORE', `u32[${WORDS}]`, 'for each 64 features, how many occur before them.'],
      ],
    },
    {
      constants: [['PAGE_BITS', WORDS * 8, 'Bytes of those bits, which are what files hold of a page.']],
    },
  ],
}
