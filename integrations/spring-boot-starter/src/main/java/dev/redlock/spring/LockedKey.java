package dev.redlock.spring;

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.context.expression.AnnotatedElementKey;
import org.springframework.context.expression.BeanFactoryResolver;
import org.springframework.context.expression.CachedExpressionEvaluator;
import org.springframework.context.expression.MethodBasedEvaluationContext;
import org.springframework.expression.EvaluationException;
import org.springframework.expression.Expression;
import org.springframework.expression.ParseException;
import org.springframework.expression.spel.SpelNode;
import org.springframework.expression.spel.ast.VariableReference;
import org.springframework.expression.spel.standard.SpelExpression;
import org.springframework.util.ObjectUtils;

/**
 * The keys of {@link Locked} methods: expressions over their parameters, parsed once.
 *
 * @threading any thread
 */
final class LockedKey extends CachedExpressionEvaluator {

    private static final String PARAMETER = "[ap]\\d{1,3}";

    private final Map<ExpressionKey, Expression> expressions = new ConcurrentHashMap<>();
    private final BeanFactoryResolver beans;

    LockedKey(BeanFactory beans) {
        this.beans = new BeanFactoryResolver(beans);
    }

    /** Parses an expression whose variables have to be parameters. */
    void check(String key, Method method, Class<?> targetClass) {
        String where = InvalidLockedException.nameOf(method, targetClass);
        Expression expression;
        try {
            expression = getExpression(expressions, new AnnotatedElementKey(method, targetClass), key);
        } catch (ParseException e) {
            throw new InvalidLockedException(where, "key \"" + key + "\" is no SpEL expression, " + e.getMessage(),
                    "write for example \"#id\", and a constant as \"'text'\"", e);
        }
        if (expression instanceof SpelExpression spel) {
            String[] names = getParameterNameDiscoverer().getParameterNames(method);
            checkVariables(spel.getAST(), names, key, method, where);
        }
    }

    private static void checkVariables(SpelNode node, String[] names, String key, Method method, String where) {
        if (node instanceof VariableReference) {
            String name = node.toStringAST().substring(1);
            boolean isPosition = name.matches(PARAMETER)
                    && Integer.parseInt(name.substring(1)) < method.getParameterCount();
            if (!isPosition && !Set.of("root", "this").contains(name) && !ObjectUtils.containsElement(names, name)) {
                throw new InvalidLockedException(where, "key \"" + key + "\" has #" + name + ", which is no parameter",
                        names == null
                                ? "compile with -parameters, or write #p0 for the first parameter"
                                : "the parameters are " + Arrays.toString(names),
                        null);
            }
        }
        for (int i = 0; i < node.getChildCount(); i++) {
            checkVariables(node.getChild(i), names, key, method, where);
        }
    }

    /** @return the resources of a call: one, or those of a set, without the name */
    Collection<String> valuesOf(String key, Method method, Object target, Class<?> targetClass, Object[] arguments) {
        MethodBasedEvaluationContext context = new MethodBasedEvaluationContext(
                new LockedRoot(method, arguments, target, targetClass), method, arguments,
                getParameterNameDiscoverer());
        context.setBeanResolver(beans);
        String where = "@Locked on " + InvalidLockedException.nameOf(method, targetClass) + ": key \"" + key + "\"";
        Object value;
        try {
            value = getExpression(expressions, new AnnotatedElementKey(method, targetClass), key).getValue(context);
        } catch (EvaluationException e) {
            throw new IllegalArgumentException(where + " has no value, " + e.getMessage()
                    + ": correct the expression or the arguments", e);
        }
        if (value instanceof Optional<?> optional) {
            value = optional.orElse(null);
        }
        if (!(value instanceof Collection<?>) && !ObjectUtils.isArray(value)) {
            return List.of(text(value, where + " is "));
        }
        Collection<?> values = value instanceof Collection<?> many ? many : List.of(ObjectUtils.toObjectArray(value));
        if (values.isEmpty()) {
            throw new IllegalArgumentException(where + " is an empty collection: a set has at least one resource");
        }
        Set<String> texts = new LinkedHashSet<>();
        for (Object one : values) {
            texts.add(text(one, where + " has an element that is "));
        }
        return texts;
    }

    /** The text that every process makes of an equal value. */
    private static String text(Object value, String problem) {
        if (value == null) {
            throw new IllegalArgumentException(problem + "null: a lock needs a text that names its resource");
        }
        if (!hasText(value.getClass())) {
            throw new IllegalArgumentException(problem + "of the type " + value.getClass().getName()
                    + ", whose toString() differs for equal values: use one of its properties, such as #order.id");
        }
        String text = value.toString();
        if (text == null || text.isEmpty()) {
            throw new IllegalArgumentException(problem + "empty: a lock needs a text that names its resource");
        }
        return text;
    }

    private static boolean hasText(Class<?> type) {
        try {
            return type.getMethod("toString").getDeclaringClass() != Object.class && !type.isArray();
        } catch (NoSuchMethodException e) {
            throw new AssertionError("every class has toString()", e);
        }
    }
}
