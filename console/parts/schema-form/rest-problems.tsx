import { ErrorNotice } from '../error-notice.tsx'
import type { Problem } from './check-value.ts'

/** Lists the problems that belong to no visible field. */
export function RestProblems({ title, problems }: { title: string; problems: readonly Problem[] }) {
  if (problems.length === 0) return null
  const texts = problems.map(({ path, message }) => [path, message].filter(Boolean).join(': '))
  return <ErrorNotice title={title} error={new Error(texts.join('. '))} />
}
