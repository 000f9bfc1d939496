// The entry of a worker process. Start as many as you like, on as many machines as can reach Redis and the database.
import { runWorker } from './run-worker.ts'
import { readSettings } from './settings.ts'

await runWorker(readSettings())
process.send?.('ready')
