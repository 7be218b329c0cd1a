namespace Kv.Lua.Syntax;

/// <summary>What <see cref="CallSurvey"/> knows of the value of an expression.</summary>
internal enum SurveyMeaning
{
    Other,

    /// <summary>A value of the host's table of values, or nil.</summary>
    Element,

    /// <summary>The host's table of values.</summary>
    Values,

    /// <summary>One of the host's functions.</summary>
    Function,

    /// <summary>The host's function that takes functions.</summary>
    Registrar,

    /// <summary>Of a parameter: nobody was seen to give it anything so far.</summary>
    Unseen,
}
