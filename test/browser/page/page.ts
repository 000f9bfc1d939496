import { runCheck } from './checks.ts'
import type { Order } from './worker.ts'

export type Place = 'page' | 'worker'

/** The functions of the page that a test calls. */
export interface PageApi {
  order(place: Place, order: Order): Promise<unknown>
}

const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' })
worker.addEventListener('error', (event) => console.error(`worker: ${event.message}`))

const api: PageApi = {
  async order(place, order) {
    if (place === 'page') {
      // In a new task, because the page's policy does not apply to scripts that the driver runs.
      return new Promise((resolve) => setTimeout(() => resolve(runCheck(order.run, order.facts))))
    }
    const result = new Promise((resolve) => {
      worker.addEventListener('message', ({ data }) => resolve(data), { once: true })
    })
    worker.postMessage(order)
    return result
  },
}
Object.assign(globalThis, { api })
