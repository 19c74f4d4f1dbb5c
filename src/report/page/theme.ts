// The button that changes between light and dark; without a choice the page follows the system.
import { element } from './element.ts'

const KEY = 'spillway-theme'

/** A page that is opened from a disk may have no place to keep the choice. */
function kept(): string | null {
  try {
    return localStorage.getItem(KEY)
  } catch {
    return null
  }
}

function keep(theme: string): void {
  try {
    localStorage.setItem(KEY, theme)
  } catch {
    // The choice holds for this page.
  }
}

export function themeButton(): HTMLButtonElement {
  const root = document.documentElement
  const button = element('button', { type: 'button', class: 'theme' })
  const isDark = (): boolean => {
    const chosen = root.dataset['theme']
    return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches
  }
  const name = (): void => {
    button.textContent = isDark() ? 'Light' : 'Dark'
    button.setAttribute('aria-label', isDark() ? 'Change to light colours' : 'Change to dark colours')
  }
  const before = kept()
  if (before === 'light' || before === 'dark') root.dataset['theme'] = before
  name()
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', name)
  button.addEventListener('click', () => {
    const theme = isDark() ? 'light' : 'dark'
    root.dataset['theme'] = theme
    keep(theme)
    name()
  })
  return button
}
