namespace Kv.Lua.Syntax;

/// <summary>What one function of a text calls, as far as <see cref="CallSurvey"/> sees it.</summary>
internal sealed class BodyCalls
{
    /// <summary>Whether no more than that is done with the host's tables.</summary>
    public bool IsComplete { get; set; } = true;

    /// <summary>Calls of the host's functions.</summary>
    public List<IReadOnlyList<LuaCallArgument>> Calls { get; } = [];

    /// <summary>Functions of the text that can run because this one does.</summary>
    public List<FunctionBody> Callees { get; } = [];

    /// <summary>What functions and all that can run because of them call.</summary>
    public static LuaCallSurvey Reached(IEnumerable<FunctionBody> first, Dictionary<FunctionBody, BodyCalls> all)
    {
        var reached = new HashSet<FunctionBody>();
        var next = new Stack<FunctionBody>(first);
        bool isComplete = true;
        List<IReadOnlyList<LuaCallArgument>> calls = [];
        // Ends: each is followed once.
        while (next.TryPop(out var body))
        {
            if (!reached.Add(body)) continue;
            var found = all[body];
            isComplete &= found.IsComplete;
            calls.AddRange(found.Calls);
            foreach (var callee in found.Callees) next.Push(callee);
        }

        return new LuaCallSurvey(isComplete, calls);
    }
}
