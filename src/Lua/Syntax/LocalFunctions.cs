namespace Kv.Lua.Syntax;

/// <summary>For <see cref="CallSurvey"/>: the local functions of a text, and what their callers give them.</summary>
/// <remarks>
/// Of a function that is only called by its name, or registered with the host, all callers are seen; so a parameter is
/// what all of them give. Callers stand behind what they call, so this takes several passes over the text: each begins
/// with what the one before has found (<see cref="BeginPass"/>), until nothing is found that is new. What holds then
/// holds in every run, call by call: with it, each call gives each parameter what it is taken for.
/// </remarks>
internal sealed class LocalFunctions
{
    private readonly HashSet<LocalVariable> _changed = [], _escaped = [];
    private readonly Dictionary<LocalVariable, FunctionBody> _bodies = [];
    private Dictionary<LocalVariable, SurveyMeaning> _known = [], _given = [];
    private bool _isNew;

    /// <summary>Begins a pass.</summary>
    /// <returns>False: the one before found nothing that was not known.</returns>
    public bool BeginPass()
    {
        bool isNew = _isNew || _given.Count != _known.Count
            || _given.Any(row => !_known.TryGetValue(row.Key, out var known) || known != row.Value);
        (_known, _given, _isNew) = (_given, [], false);
        return isNew;
    }

    public void Declare(LocalVariable variable, FunctionBody body) => _bodies[variable] = body;

    /// <summary>A local is set again, after its declaration.</summary>
    public void Change(LocalVariable variable) => _isNew |= _changed.Add(variable);

    public bool IsChanged(LocalVariable variable) => _changed.Contains(variable);

    /// <summary>A local's value goes anywhere.</summary>
    public void Escape(LocalVariable variable) => _isNew |= _bodies.ContainsKey(variable) && _escaped.Add(variable);

    /// <summary>The function that a local is, if all that runs it is seen where it does.</summary>
    public FunctionBody? Find(LocalVariable variable) =>
        _escaped.Contains(variable) || _changed.Contains(variable) ? null : _bodies.GetValueOrDefault(variable);

    /// <summary>What a parameter of a function whose callers are all seen is.</summary>
    public SurveyMeaning MeaningOf(LocalVariable parameter) =>
        _changed.Contains(parameter) ? SurveyMeaning.Other
            : _known.GetValueOrDefault(parameter, SurveyMeaning.Unseen);

    /// <summary>A caller gives a parameter a value. One that gives none gives nil, which is an element, too.</summary>
    public void Give(LocalVariable parameter, SurveyMeaning meaning)
    {
        var before = _given.GetValueOrDefault(parameter, SurveyMeaning.Unseen);
        _given[parameter] = before == SurveyMeaning.Unseen ? meaning
            : meaning == SurveyMeaning.Unseen || meaning == before ? before : SurveyMeaning.Other;
    }
}
