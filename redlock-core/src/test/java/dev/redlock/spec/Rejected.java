package dev.redlock.spec;

/** The step relation rejects a step. */
public final class Rejected extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final transient Step step;
    private final Rule rule;

    public Rejected(Step step, Rule rule, String reason) {
        super(rule + ": " + step + ": " + reason, null, false, false);
        this.step = step;
        this.rule = rule;
    }

    public Step step() {
        return step;
    }

    public Rule rule() {
        return rule;
    }
}
