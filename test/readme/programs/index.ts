import type { Programs } from '../reader.ts'
import { jobs } from './jobs.ts'
import { login } from './login.ts'
import { start } from './start.ts'
import { testing } from './testing.ts'

/** How each program of the documents is run. */
export const programs: Programs = { ...start, ...login, ...jobs, ...testing }
