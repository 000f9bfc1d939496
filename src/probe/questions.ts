import { type CatalogueOperation, operations, type TraitName } from '../api/index.ts'
import { Notebook } from '../evidence/index.ts'
import type { Answer, Asker } from './asker.ts'

type OperationId = CatalogueOperation['id']

/** Sends the requests of a probe, and notes its findings. */
export class Questions {
  readonly asker: Asker
  readonly notebook = new Notebook(2_000)

  constructor(asker: Asker) {
    this.asker = asker
  }

  /** Notes a trait. */
  readonly find = (trait: TraitName, what: string): boolean => this.notebook.note('traits', trait, what)

  /** Notes why a trait was not found. */
  readonly leave = (trait: TraitName, reason: string): void => this.notebook.leave(trait, reason)

  /** Sends a request of an operation, and notes its response if it has the form of the operation. */
  async ask(id: OperationId, path: string, question?: Parameters<Asker['get']>[1]): Promise<Answer> {
    const answer = await this.asker.get(path, question)
    const { envelope } = operations[id]
    const data = envelope === 'bare' ? answer.body : envelope === 'list' ? answer.items : answer.item
    if (data !== undefined && answer.status === 200) this.notebook.noteResponse(id, answer.status, data)
    return answer
  }
}
