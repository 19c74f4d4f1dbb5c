// Byte layouts of a map from features to weights: its top table, and its pages. Made by `npm run layouts` from the
// tables in structures/: change those. Integer constants only, for both compilers read this file.

// --- The top table: a page for each run of 65536 features that has any.
/** u32[65536]: addresses of pages, 0 for none. */
export const TOP_PAGES = 0
/** u32: how many pages may still be taken. */
export const TOP_LEFT = 262144
export const MAP_TOP_BYTES = 262208

/** Pages that there can be. */
export const TOP_ENTRIES = 65536

// --- A page.
/** u32[2048]: a bit for each feature that occurs. Loops read 64 at a time. */
export const PAGE_WORDS = 0
/** u32[1024]: for each 64 features, how many occur before them. */
export const PAGE_BEFORE = 8192
export const PAGE_BYTES = 12288

/** Bytes of those bits, which are what files hold of a page. */
export const PAGE_BITS = 8192
