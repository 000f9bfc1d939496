import { type CheckName, type Facts, runCheck } from './checks.ts'

export interface Order {
  readonly run: CheckName
  readonly facts: Facts
}

addEventListener('securitypolicyviolation', (event) => console.error(`violation: ${event.violatedDirective}`))

addEventListener('message', async ({ data: order }: MessageEvent<Order>) => {
  postMessage(await runCheck(order.run, order.facts))
})
