// Tests that take long run when they are asked for: SPILLWAY_SLOW=1.
export const isSlow = process.env['SPILLWAY_SLOW'] === '1'

/** For the option `skip` of a test that takes long. */
export const unlessSlow = isSlow ? false : 'SPILLWAY_SLOW=1 runs it'
