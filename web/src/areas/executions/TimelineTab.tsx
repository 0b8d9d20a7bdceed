import { EmptyState, ErrorState, SkeletonLines } from "@/components";
import { useShown } from "./context";
import { Timeline } from "./Timeline";
import { MOST_STEPS } from "./useSteps";
import { useChosenStep } from "./useChosenStep";

export function Component() {
  const { all, steps, live } = useShown();
  const { chosen, choose } = useChosenStep(steps.steps);
  if (steps.error && all.length === 0) return <ErrorState error={steps.error} onRetry={steps.retry} />;
  if (steps.pending) return <SkeletonLines lines={10} height="1.4rem" />;
  if (all.length === 0) {
    return (
      <div className="card">
        <EmptyState icon="clock" title="No steps yet">{live ? "Steps appear here as they begin." : "It ended before its first step."}</EmptyState>
      </div>
    );
  }
  return (
    <>
      <Timeline all={all} live={live} chosen={chosen?.sequence_num ?? null} onChoose={choose} />
      {steps.total > MOST_STEPS && <p className="muted">The first {MOST_STEPS.toLocaleString("en")} of {steps.total.toLocaleString("en")} steps are shown, so that the page stays fast. All are in the API.</p>}
    </>
  );
}
