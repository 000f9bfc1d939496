// Observations of the service: the notebook of one process, the evidence file, and the reports that use such files.

export { describeEvidence } from './describe.ts'
export {
  day,
  documentedField,
  type EvidenceFile,
  mergeEvidence,
  observationOf,
  parseEvidence,
  type Sightings,
  sections,
  sumOf,
} from './evidence-file.ts'
export { Notebook } from './notebook.ts'
export { type Overlay, overlayOf } from './overlay.ts'
export {
  type EvidenceRecorder,
  type EvidenceRecorderOptions,
  evidenceRecorder,
} from './recorder.ts'
