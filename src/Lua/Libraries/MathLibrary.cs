namespace Kv.Lua.Libraries;

/// <summary>math.*</summary>
internal static class MathLibrary
{
    public static void AddTo(LuaMachine machine)
    {
        var library = StandardLibraries.AddLibrary(machine, "math");
        Add(library, "abs", Math.Abs);
        Add(library, "acos", Math.Acos);
        Add(library, "asin", Math.Asin);
        Add(library, "atan", Math.Atan);
        Add(library, "atan2", static (y, x) => Math.Atan2(y, x));
        Add(library, "ceil", Math.Ceiling);
        Add(library, "cos", Math.Cos);
        Add(library, "cosh", Math.Cosh);
        Add(library, "deg", x => x / (Math.PI / 180));
        Add(library, "exp", Math.Exp);
        StandardLibraries.Add(library, "floor", (ref LuaCall call) => call.Return(Math.Floor(call.NumberAt(0))));
        Add(library, "fmod", static (x, y) => x % y);
        Add(library, "mod", static (x, y) => x % y);
        StandardLibraries.Add(library, "frexp", Frexp);
        StandardLibraries.Add(library, "ldexp", (ref LuaCall call) =>
        {
            int exponent = call.IntegerAt(1);
            return call.Return(Math.ScaleB(call.NumberAt(0), exponent));
        });
        Add(library, "log", static x => Math.Log(x));
        Add(library, "log10", Math.Log10);
        StandardLibraries.Add(library, "max", Max);
        StandardLibraries.Add(library, "min", Min);
        StandardLibraries.Add(library, "modf", Modf);
        Add(library, "pow", Math.Pow);
        Add(library, "rad", x => x * (Math.PI / 180));
        StandardLibraries.Add(library, "random", Random);
        StandardLibraries.Add(library, "randomseed", Seed);
        Add(library, "sin", Math.Sin);
        Add(library, "sinh", Math.Sinh);
        Add(library, "sqrt", Math.Sqrt);
        Add(library, "tan", Math.Tan);
        Add(library, "tanh", Math.Tanh);
        library[CommonStrings.Add("huge")] = double.PositiveInfinity;
        library[CommonStrings.Add("pi")] = Math.PI;
    }

    private static void Add(LuaTable library, string name, Func<double, double> function) =>
        StandardLibraries.Add(library, name, (ref LuaCall call) => call.Return(function(call.NumberAt(0))));

    private static void Add(LuaTable library, string name, Func<double, double, double> function) =>
        StandardLibraries.Add(library, name, (ref LuaCall call) =>
        {
            double second = call.NumberAt(1);       // read first, as in the reference, whose error is about this one
            return call.Return(function(call.NumberAt(0), second));
        });

    private static int Frexp(ref LuaCall call)
    {
        double number = call.NumberAt(0);
        if (number == 0 || !double.IsFinite(number)) return call.Return(number, 0);
        int exponent = Math.ILogB(number) + 1;
        return call.Return(Math.ScaleB(number, -exponent), exponent);
    }

    private static int Modf(ref LuaCall call)
    {
        double number = call.NumberAt(0), whole = Math.Truncate(number);
        return call.Return(whole, Math.CopySign(double.IsInfinity(number) ? 0 : number - whole, number));
    }

    private static int Max(ref LuaCall call)
    {
        double best = call.NumberAt(0);
        for (int i = 1; i < call.Count; i++)
            if (call.NumberAt(i) > best) best = call.NumberAt(i);
        return call.Return(best);
    }

    private static int Min(ref LuaCall call)
    {
        double best = call.NumberAt(0);
        for (int i = 1; i < call.Count; i++)
            if (call.NumberAt(i) < best) best = call.NumberAt(i);
        return call.Return(best);
    }

    private static int Random(ref LuaCall call)
    {
        double drawn = call.Machine.Random.Next() % RandomSequence.Max / (double)RandomSequence.Max;
        switch (call.Count)
        {
            case 0: return call.Return(drawn);
            case 1:
                int most = call.IntegerAt(0);
                if (most < 1) throw call.ArgumentError(0, "interval is empty");
                return call.Return(Math.Floor(drawn * most) + 1);
            case 2:
                int least = call.IntegerAt(0), end = call.IntegerAt(1);
                if (least > end) throw call.ArgumentError(1, "interval is empty");
                return call.Return(Math.Floor(drawn * (end - least + 1)) + least);
            default: throw call.Failure("wrong number of arguments");
        }
    }

    private static int Seed(ref LuaCall call)
    {
        call.Machine.Random.Seed(call.IntegerAt(0));
        return call.Return();
    }
}
