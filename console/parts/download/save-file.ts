export function saveFile(blob: Blob, fileName: string): void {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = fileName
  link.click()
  // Keep the URL for ten seconds, which is more than enough. The browser reads the blob before `click` returns or in the
  // next tick.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
