package dev.redlock.sim;

import io.netty.util.ResourceLeakDetector;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** Paranoid leak records take more time than simulated runs; the other tests detect leaks. */
final class QuietLeakDetector implements BeforeAllCallback, AfterAllCallback {

    private ResourceLeakDetector.Level level;

    @Override
    public void beforeAll(ExtensionContext context) {
        level = ResourceLeakDetector.getLevel();
        ResourceLeakDetector.setLevel(ResourceLeakDetector.Level.DISABLED);
    }

    @Override
    public void afterAll(ExtensionContext context) {
        ResourceLeakDetector.setLevel(level);
    }
}
