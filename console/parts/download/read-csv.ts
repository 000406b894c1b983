import { basePath } from '../../app/service-url.ts'

export async function readCsv(path: string, signal?: AbortSignal): Promise<Blob> {
  const answer = await fetch(basePath + path, { headers: { Accept: 'text/csv' }, ...(signal && { signal }) })
  if (!answer.ok)
    throw new Error(
      `Could not download the file, because the service responded with status ${answer.status}. Try again.`,
    )
  return await answer.blob()
}
