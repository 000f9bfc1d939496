/**
 * Writes that a person approves: kept until then, and sent once, as approved, unless the conversation has moved on.
 *
 * @module support-workspace-sdk/approvals
 */

export { Approvals } from './approvals.ts'
export { ApprovalsError } from './approvals-error.ts'
export type {
  ApprovalsOptions,
  ApproveOptions,
  ListProposalsOptions,
  ProposeOptions,
  RejectOptions,
} from './approvals-options.ts'
export type { Basis } from './basis.ts'
export type { WriteFunction } from './capture.ts'
export type { EarlierVersion, Proposal, ProposalDecision, ProposalState } from './proposal.ts'
export type { SendOptions, SendResult } from './sender.ts'
