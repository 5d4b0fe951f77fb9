package dev.redlock.test;

import java.util.List;
import org.springframework.test.context.ContextConfigurationAttributes;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.ContextCustomizerFactory;
import org.springframework.test.context.TestContextAnnotationUtils;

/**
 * Finds {@link AutoConfigureRedlockNodes} on test classes. The test framework of Spring calls it.
 *
 * @threading immutable
 */
final class SpringNodesFactory implements ContextCustomizerFactory {

    @Override
    public ContextCustomizer createContextCustomizer(Class<?> testClass,
            List<ContextConfigurationAttributes> attributes) {
        AutoConfigureRedlockNodes found = TestContextAnnotationUtils.findMergedAnnotation(testClass,
                AutoConfigureRedlockNodes.class);
        return found == null ? null : new SpringNodes(found.count());
    }
}
