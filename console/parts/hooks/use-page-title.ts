import { useEffect } from 'react'

export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = title === 'Errand' ? title : `${title} · Errand`
  }, [title])
}
