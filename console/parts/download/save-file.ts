export function saveFile(blob: Blob, fileName: string): void {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = fileName
  link.click()
  // Ten seconds are ample. The browser reads the blob before `click` returns, or in the next tick at the latest.
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
