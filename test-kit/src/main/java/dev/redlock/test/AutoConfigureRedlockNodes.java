package dev.redlock.test;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Inherited;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Gives the application context of a Spring test nodes of its own. The context has the {@link RedlockNodes} as a bean,
 * the property {@code redlock.nodes} has their addresses, and the client of {@code redlock-spring-boot-starter} follows
 * {@link RedlockNodes#advance}.
 *
 * <pre>
 * &#64;SpringBootTest
 * &#64;AutoConfigureRedlockNodes
 * class ShippingTest {
 *     &#64;Autowired
 *     private RedlockNodes nodes;
 * </pre>
 *
 * <p>Spring keeps the context for other test classes, and the nodes live as long as it. A class that fails or restarts
 * nodes needs {@code @DirtiesContext}.
 *
 * @threading immutable
 */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Inherited
public @interface AutoConfigureRedlockNodes {
    /** @return the number of nodes, 1 to 63 */
    int count() default 3;
}
