import { useEffect } from 'react'

/** Names the open page in the title of the browser's tab. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = title === 'Errand' ? title : `${title} · Errand`
  }, [title])
}
