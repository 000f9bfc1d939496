import { type CheckName, type Facts, interruption, runCheck } from './checks.ts'

export type Order = { readonly run: CheckName; readonly facts: Facts } | { readonly interrupt: string }

addEventListener('securitypolicyviolation', (event) => console.error(`violation: ${event.violatedDirective}`))

addEventListener('message', async ({ data: order }: MessageEvent<Order>) => {
  if ('interrupt' in order) interruption.controller.abort(order.interrupt)
  else postMessage(await runCheck(order.run, order.facts))
})
