import { interruption, runCheck } from './checks.ts'
import type { Order } from './worker.ts'

export type Place = 'page' | 'worker'

/** How a test reaches into the page. */
export interface PageApi {
  order(place: Place, order: Order): Promise<unknown>
}

const worker = new Worker(new URL('./worker.ts', import.meta.url), { type: 'module' })
worker.addEventListener('error', (event) => console.error(`worker: ${event.message}`))

const api: PageApi = {
  async order(place, order) {
    if ('interrupt' in order) {
      if (place === 'page') interruption.controller.abort(order.interrupt)
      else worker.postMessage(order)
      return
    }
    if (place === 'page') {
      // A task of the page's own: called from the driver, a script may do what the policy forbids.
      return new Promise((resolve) => setTimeout(() => resolve(runCheck(order.run, order.facts))))
    }
    const answer = new Promise((resolve) => {
      worker.addEventListener('message', ({ data }) => resolve(data), { once: true })
    })
    worker.postMessage(order)
    return answer
  },
}
Object.assign(globalThis, { api })
