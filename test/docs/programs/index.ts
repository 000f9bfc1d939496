import type { Programs } from '../reader.ts'
import { api } from './api.ts'
import { jobs } from './jobs.ts'
import { login } from './login.ts'
import { start } from './start.ts'
import { testing } from './testing.ts'

/** How each program of the documents is run. */
export const programs: Programs = { ...start, ...api, ...login, ...jobs, ...testing }
