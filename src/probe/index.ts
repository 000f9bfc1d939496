/**
 * Turns guesses about the service into observations: a probe, a recorder, and the files that both write.
 *
 * @module support-workspace-sdk/probe
 */

export {
  describeEvidence,
  type EvidenceFile,
  type EvidenceRecorder,
  type EvidenceRecorderOptions,
  evidenceRecorder,
  mergeEvidence,
  type Overlay,
  overlayOf,
  parseEvidence,
  type Sightings,
} from '../evidence/index.ts'
export type { ProbeFindings } from './ask-service.ts'
export { announceProbe, type ProbeOptions, probe } from './probe.ts'
