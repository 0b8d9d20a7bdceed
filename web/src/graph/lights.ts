/** Which task is in which state and which is selected, told to those nodes only that it concerns: a live graph is drawn once. */
import { createContext, useContext, useSyncExternalStore } from "react";

import type { NodeState, NodeStates } from "./model";

export class Lights {
  private states: NodeStates = new Map();
  private selected: string | null = null;
  private readonly listeners = new Set<() => void>();

  show(states: NodeStates, selected: string | null): void {
    this.states = states;
    this.selected = selected;
    for (const listener of this.listeners) listener();
  }

  readonly subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  state(reference: string): NodeState | undefined {
    return this.states.get(reference);
  }

  isSelected(reference: string): boolean {
    return reference !== "" && this.selected === reference;
  }

  get lit(): boolean {
    return this.states.size > 0;
  }
}

export const LightsContext = createContext(new Lights());

export function useLight(reference: string) {
  const lights = useContext(LightsContext);
  const status = useSyncExternalStore(lights.subscribe, () => lights.state(reference)?.status);
  const note = useSyncExternalStore(lights.subscribe, () => lights.state(reference)?.note);
  const selected = useSyncExternalStore(lights.subscribe, () => lights.isSelected(reference));
  const lit = useSyncExternalStore(lights.subscribe, () => lights.lit);
  return { status, note, selected, lit };
}
