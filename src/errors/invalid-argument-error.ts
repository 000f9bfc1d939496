import { SupportWorkspaceError } from './support-workspace-error.ts'

/** An option or argument cannot be used. Thrown before anything is sent. */
export class InvalidArgumentError extends SupportWorkspaceError {
  static override readonly kind: string = 'InvalidArgumentError'

  /** The name of the option or argument. */
  readonly argument: string
  /** Nothing was sent. */
  readonly outcome: 'not-sent' = 'not-sent'

  constructor(argument: string, message: string, hint: string) {
    super(message, { hint })
    this.argument = argument
  }
}
