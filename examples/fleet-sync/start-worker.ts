import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Settings, toEnvironment } from './settings.ts'

/** Starts a worker process, and waits until it takes jobs. */
export async function startWorker(settings: Settings, environment: NodeJS.ProcessEnv = {}): Promise<ChildProcess> {
  const env = { ...process.env, ...toEnvironment(settings), ...environment }
  const worker = fork(fileURLToPath(new URL('worker.ts', import.meta.url)), { env, execArgv: [] })
  const ended = once(worker, 'exit').then(() => Promise.reject(new Error('The worker ended before it was ready.')))
  await Promise.race([once(worker, 'message'), ended])
  return worker
}
