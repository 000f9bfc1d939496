import type { Programs } from '../reader.ts'
import { jobs } from './jobs.ts'
import { start } from './start.ts'

/** How each program of the documents is run. */
export const programs: Programs = { ...start, ...jobs }
