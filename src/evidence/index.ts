// The observations of the service: the notes of one process, the file with these notes, and the outputs made from
// files.

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
