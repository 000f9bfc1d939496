import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Commands } from './store-process.ts'

export interface StoreProcess {
  run<Name extends keyof Commands>(
    name: Name,
    ...args: Parameters<Commands[Name]>
  ): Promise<Awaited<ReturnType<Commands[Name]>>>
  close(): Promise<void>
}

/** Starts a process with its own store, and waits until it is ready. */
export async function startProcess(...args: string[]): Promise<StoreProcess> {
  const child: ChildProcess = fork(fileURLToPath(new URL('./store-process.ts', import.meta.url)), args, {
    execArgv: [],
  })
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const waiting = new Map<number, { resolve: (value: never) => void; reject: (error: Error) => void }>()
  const reply = (id: number) => new Promise<never>((resolve, reject) => waiting.set(id, { resolve, reject }))
  child.on('message', ({ id, result, error }: { id: number; result: never; error?: string }) => {
    const caller = waiting.get(id)
    waiting.delete(id)
    if (error === undefined) caller?.resolve(result)
    else caller?.reject(new Error(error))
  })
  void ended.then(() => {
    for (const { reject } of waiting.values()) reject(new Error('The process has ended.'))
  })
  await reply(0)
  let next = 1
  return {
    run: (name, ...args) => {
      const id = next++
      const result = reply(id)
      child.send({ id, name, args })
      return result
    },
    close: async () => {
      child.disconnect()
      await ended
    },
  }
}
