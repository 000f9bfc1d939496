// What is seen of the service: the notes of one process, the file that they become, and what is made of such files.

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
